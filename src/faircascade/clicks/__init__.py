"""How users click."""

from faircascade.clicks.base import ClickDraws, ClickModel
from faircascade.clicks.cascade import Cascade
from faircascade.clicks.ccm import CCM
from faircascade.clicks.dbn import DBN
from faircascade.clicks.dcm import DCM
from faircascade.clicks.pbm import PBM
from faircascade.clicks.ubm import UBM

__all__ = ["CCM", "DBN", "DCM", "PBM", "UBM", "Cascade", "ClickDraws", "ClickModel"]
