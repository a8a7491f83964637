// Live tensors by step, of each pool and of a site, on the axis of the report.
#ifndef PLATEAU_ANALYZER_REPORT_BUILDER_TENSOR_CURVES_H_
#define PLATEAU_ANALYZER_REPORT_BUILDER_TENSOR_CURVES_H_

#include <cstddef>
#include <vector>

#include "analyzer/process/analyze_process.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

// One curve per pool that ever had a tensor: the host first, then devices.
std::vector<TensorCurve> TensorCurvesOf(const process::ProcessAnalysis& process);

// The curve of one site of `process`; its lists are empty when the site never had a tensor.
TensorCurve TensorCurveOf(const process::ProcessAnalysis& process, size_t site);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_REPORT_BUILDER_TENSOR_CURVES_H_
