#include <lockstep/parallel/output_tensors.h>

#include <lockstep/base/errors.h>

namespace lockstep {

void visit_tensors(c10::IValue& value, const TensorVisitor& visit) {
  if (value.isTensor()) {
    at::Tensor tensor = std::move(value).toTensor();
    visit(tensor);
    value = std::move(tensor);
  } else if (value.isTensorList()) {
    std::vector<at::Tensor> tensors = value.toTensorVector();
    visit_tensors(tensors, visit);
    value = std::move(tensors);
  } else if (value.isTuple()) {
    std::vector<c10::IValue> elements = value.toTupleRef().elements().vec();
    visit_tensors(elements, visit);
    value = c10::ivalue::Tuple::create(std::move(elements));
  } else if (!value.isNone() && !value.isScalar() && !value.isString()) {
    throw UsageError({.message = "the module returns what cannot be looked through for tensors",
                      .found = value.tagKind(),
                      .expected = "a tensor, or a tuple or list of tensors"});
  }
}

}  // namespace lockstep
