"""Networks of processors in one process: topologies, workloads, measurements and reports."""
