# Bit tricks that Python lacks: one instruction each.

cdef extern from "bits.h" nogil:
    double power_of_two(double power)
    int popcount(unsigned long long word)
    int lowest_bit(unsigned int word)
