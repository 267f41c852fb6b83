"""What is done to a ranking before it is shown, for the sake of exposure."""

from faircascade.rerankers.base import Identity, Reranker, Shown
from faircascade.rerankers.calibrated import Calibrated
from faircascade.rerankers.discount import Discount
from faircascade.rerankers.ears import EARS
from faircascade.rerankers.exposure_charge import ExposureCharge
from faircascade.rerankers.fairco import FairCo
from faircascade.rerankers.frank_wolfe import FrankWolfe
from faircascade.rerankers.ledger import Ledger, Terms
from faircascade.rerankers.logged_randomisation import LoggedRandomisation
from faircascade.rerankers.merit_draws import MeritDraws
from faircascade.rerankers.min_share import MinShare
from faircascade.rerankers.mmr import MMR
from faircascade.rerankers.p_mmf import PMMF
from faircascade.rerankers.reorder import Reorder
from faircascade.rerankers.welfare import AlphaFair, GeneralisedGini, Welfare
from faircascade.rerankers.xquad import XQuAD

__all__ = [
    "EARS",
    "MMR",
    "PMMF",
    "AlphaFair",
    "Calibrated",
    "Discount",
    "ExposureCharge",
    "FairCo",
    "FrankWolfe",
    "GeneralisedGini",
    "Identity",
    "Ledger",
    "LoggedRandomisation",
    "MeritDraws",
    "MinShare",
    "Reorder",
    "Reranker",
    "Shown",
    "Terms",
    "Welfare",
    "XQuAD",
]
