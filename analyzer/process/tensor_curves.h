// Live tensors by step, of each pool and of a site, on the axis of the report.
#ifndef PLATEAU_ANALYZER_PROCESS_TENSOR_CURVES_H_
#define PLATEAU_ANALYZER_PROCESS_TENSOR_CURVES_H_

#include <cstddef>
#include <vector>

#include "analyzer/process/process_pass.h"
#include "analyzer/report/report_model.h"

namespace plateau::report {

// One curve per pool that ever had a tensor: the host first, then devices.
std::vector<TensorCurve> TensorCurvesOf(const ProcessPass& pass);

// Of one site of `pass`; empty lists when it never had a tensor.
TensorCurve TensorCurveOf(const ProcessPass& pass, size_t site);

}  // namespace plateau::report

#endif  // PLATEAU_ANALYZER_PROCESS_TENSOR_CURVES_H_
