"""What travels over HTTP, with examples."""

from faircascade.service.http.schemas.base import Paging
from faircascade.service.http.schemas.catalogue import (
    Item,
    ItemBatch,
    ItemBody,
    ItemPage,
    ItemsChanged,
    NewItem,
)
from faircascade.service.http.schemas.experiments import (
    Experiment,
    ExperimentBody,
    Experiments,
    SharesBody,
    StateBody,
)
from faircascade.service.http.schemas.exposure import (
    Exposure,
    ExposureQuery,
    History,
    HistoryQuery,
    ItemExposure,
    ItemExposureQuery,
    LorenzCurve,
    Moment,
    Recipient,
    Window,
)
from faircascade.service.http.schemas.feedback import (
    FeedbackBatch,
    FeedbackReceipt,
    FeedbackResult,
    FeedbackResults,
)
from faircascade.service.http.schemas.operation import PolicyDescription, Readiness, Status
from faircascade.service.http.schemas.policies import (
    KillSwitch,
    Lineup,
    NamedPolicy,
    PolicyBody,
    Shadow,
    ShadowBody,
    VersionBody,
)
from faircascade.service.http.schemas.problem import FieldError, Problem
from faircascade.service.http.schemas.recommendations import (
    PolicyVersion,
    RankedItem,
    Recommendation,
    RecommendationBatch,
    RecommendationResult,
    RecommendationResults,
)
from faircascade.service.http.schemas.users import User, UserImpression
from faircascade.service.messages import FeedbackRequest, Model, RecommendationRequest

__all__ = [
    "Experiment",
    "ExperimentBody",
    "Experiments",
    "Exposure",
    "ExposureQuery",
    "FeedbackBatch",
    "FeedbackReceipt",
    "FeedbackRequest",
    "FeedbackResult",
    "FeedbackResults",
    "FieldError",
    "History",
    "HistoryQuery",
    "Item",
    "ItemBatch",
    "ItemBody",
    "ItemExposure",
    "ItemExposureQuery",
    "ItemPage",
    "ItemsChanged",
    "KillSwitch",
    "Lineup",
    "LorenzCurve",
    "Model",
    "Moment",
    "NamedPolicy",
    "NewItem",
    "Paging",
    "PolicyBody",
    "PolicyDescription",
    "PolicyVersion",
    "Problem",
    "RankedItem",
    "Readiness",
    "Recipient",
    "Recommendation",
    "RecommendationBatch",
    "RecommendationRequest",
    "RecommendationResult",
    "RecommendationResults",
    "Shadow",
    "ShadowBody",
    "SharesBody",
    "StateBody",
    "Status",
    "User",
    "UserImpression",
    "VersionBody",
    "Window",
]
