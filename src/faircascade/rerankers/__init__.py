"""What is done to a ranking before it is shown, for the sake of exposure."""

from faircascade.rerankers.base import Identity, Reranker, Shown
from faircascade.rerankers.discount import Discount
from faircascade.rerankers.ears import EARS
from faircascade.rerankers.exposure_charge import ExposureCharge
from faircascade.rerankers.ledger import Ledger
from faircascade.rerankers.logged_randomisation import LoggedRandomisation
from faircascade.rerankers.merit_draws import MeritDraws
from faircascade.rerankers.reorder import Reorder

__all__ = [
    "EARS",
    "Discount",
    "ExposureCharge",
    "Identity",
    "Ledger",
    "LoggedRandomisation",
    "MeritDraws",
    "Reorder",
    "Reranker",
    "Shown",
]
