// Everything Python sees of the kernel, and all that the kernel knows of Python.

#include <nanobind/nanobind.h>

#include "exact_sum.hpp"

namespace nb = nanobind;

namespace {

double exact_sum(const nb::iterable& values) {
    tyrex::ExactSum sum;
    for (nb::handle item : values) {
        const double x = PyFloat_AsDouble(item.ptr());
        if (x == -1.0 && PyErr_Occurred()) throw nb::python_error();
        sum.add(x);
    }
    return sum.value();
}

}  // namespace

NB_MODULE(_kernel, m) {
    m.doc() = "The part of Tyrex that is written in C++.";

    m.def("version", [] { return TYREX_VERSION; }, "The version of Tyrex this kernel was built for.");

    m.def("exact_sum", &exact_sum, nb::arg("values"),
          "Sum floats with a single rounding, so that their order does not matter.\n\n"
          "Any NaN, or +inf together with -inf, gives NaN; a sum beyond the range of float gives the\n"
          "infinity of its sign, and partial sums may lie beyond it.");
}
