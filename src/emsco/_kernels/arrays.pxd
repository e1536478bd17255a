# Types of arrays that kernels take. All are contiguous; the number says how many axes.
# Those whose names begin with Out are written to; the others may be read-only.

ctypedef const double[::1] Floats1
ctypedef const double[:, ::1] Floats2
ctypedef const double[:, :, ::1] Floats3
ctypedef double[::1] OutFloats1
ctypedef double[:, ::1] OutFloats2
ctypedef double[:, :, ::1] OutFloats3
ctypedef double[:, :, :, ::1] OutFloats4

ctypedef const float[::1] Singles1
ctypedef float[::1] OutSingles1
ctypedef float[:, ::1] OutSingles2

ctypedef const long long[::1] Ints1
ctypedef const long long[:, ::1] Ints2
ctypedef long long[::1] OutInts1
ctypedef long long[:, ::1] OutInts2

ctypedef const int[::1] SmallInts1
ctypedef int[:, :, ::1] OutSmallInts3

ctypedef const short[::1] Stages1
ctypedef const short[:, ::1] Stages2
ctypedef short[:, ::1] OutStages2

# Truth values and labels.
ctypedef const unsigned char[::1] Bytes1
ctypedef const unsigned char[:, ::1] Bytes2
ctypedef unsigned char[::1] OutBytes1
ctypedef unsigned char[:, ::1] OutBytes2

ctypedef const unsigned int[:, ::1] HalfWords2
ctypedef unsigned int[::1] OutHalfWords1

ctypedef const unsigned long long[::1] Words1
ctypedef const unsigned long long[:, ::1] Words2
ctypedef const unsigned long long[:, :, ::1] Words3
ctypedef unsigned long long[::1] OutWords1
ctypedef unsigned long long[:, ::1] OutWords2

# A chain of subsets: `LABEL` in labels.py says what its fields are.
cdef packed struct Label:
    long long accepted
    long long wrong
    long long n_open
    long long n_tied
    int stages
    int before
    int element
    int tail
    double spent
    double allowed
    double behind
    double code

ctypedef Label[::1] Labels

ctypedef fused Mask:  # a bit for each leaf of a tree
    unsigned short
    unsigned int
