"""The outputs that have a name, `ironlaw-predict/1`, and those that are parts of others.

A field that is removed or changed needs the next version, such as `predict/2`, after the old one.
"""

from ironlaw.outputs import analysis_output as analysis
from ironlaw.outputs import law_output as law
from ironlaw.outputs import ledger_output as ledger
from ironlaw.outputs import measurement_output as measurement
from ironlaw.outputs import prediction_output as prediction
from ironlaw.outputs import registry_output as registry
from ironlaw.outputs import review_output as review
from ironlaw.outputs import serving_output as serving
from ironlaw.outputs import study_output as study
from ironlaw.outputs import training_output as training

DOCUMENTS: dict[str, type] = {
    "analyze/1": analysis.AnalyzeJson,
    "breakeven/1": law.BreakevenJson,
    "certificate/1": ledger.CertificateJson,
    "claim/1": registry.ClaimJson,
    "claims/1": registry.ClaimsJson,
    "claims-check/1": registry.ClaimsCheckJson,
    "class/1": review.ClassReportJson,
    "cluster/1": training.ClusterJson,
    "coverage/1": measurement.CoverageJson,
    "diff/1": analysis.DiffJson,
    "error/1": study.ErrorJson,
    "fuse/1": law.FuseJson,
    "hardware/1": registry.HardwareJson,
    "hardware-add/1": registry.HardwareAddJson,
    "hardware-check/1": registry.HardwareCheckJson,
    "ledger-events/1": ledger.LedgerEventsJson,
    "ledger-show/1": ledger.LedgerShowJson,
    "levers/1": law.LeversJson,
    "machines/1": registry.MachinesJson,
    "measure/1": measurement.MeasureJson,
    "measure-export/1": measurement.MeasureExportJson,
    "measure-for/1": measurement.MeasureForJson,
    "measure-host/1": measurement.MeasureHostJson,
    "measure-loader/1": measurement.MeasureLoaderJson,
    "measure-model/1": measurement.MeasureModelJson,
    "measure-trace/1": measurement.MeasureTraceJson,
    "memory/1": training.MemoryJson,
    "predict/1": prediction.PredictJson,
    "privacy/1": training.PrivacyJson,
    "quantise/1": law.QuantiseJson,
    "quantise-frontier/1": law.QuantiseFrontierJson,
    "queue/1": serving.QueueJson,
    "review-list/1": review.ReviewListJson,
    "review-stats/1": review.ReviewStatsJson,
    "roofline/1": law.RooflineJson,
    "scale/1": law.ScaleJson,
    "serve/1": serving.CapacityJson,
    "slo/1": serving.SloJson,
    "study/1": study.StudyJson,
    "study-questions/1": study.StudyQuestionsJson,
    "validate/1": measurement.ValidateJson,
    "workload/1": registry.WorkloadJson,
    "workloads/1": registry.WorkloadsJson,
}
PARTS: dict[str, type] = {
    "action/1": analysis.ActionJson,
    "costs/1": prediction.CostsJson,
    "event/1": ledger.EventJson,
    "offer/1": prediction.OfferJson,
    "prediction/1": prediction.PredictionJson,
    "price/1": prediction.PriceJson,
    "refusal/1": prediction.RefusalJson,
    "too_large/1": prediction.TooLargeJson,
    "trace/1": analysis.TraceJson,
    "unmatched/1": analysis.UnmatchedJson,
    "variant/1": prediction.VariantJson,
    "verdict/1": analysis.VerdictJson,
}
