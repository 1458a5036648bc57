"""The peers that Nemesis is measured against, each as a program or a module that benchmarks run beside it."""
