/* Bit tricks of bits.pxd. */
#ifndef EMSCO_BITS_H
#define EMSCO_BITS_H

#include <string.h>

/* 2 to a whole power of -1,022 to 1,023; a sum puts it into the last bits, as SIMD lanes like it. */
static inline double power_of_two(double power) {
    double sum = power + 6755399441055744.0; /* 2^52 + 2^51 */
    unsigned long long bits;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&sum, &bits, sizeof bits);
    return sum;
}

#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
static inline int popcount(unsigned long long word) {
#if defined(_M_X64)
    return (int)__popcnt64(word);
#else
    return (int)_CountOneBits64(word);
#endif
}
static inline int lowest_bit(unsigned int word) {
    unsigned long place;
    return _BitScanForward(&place, word) ? (int)place : 32;
}
#else
static inline int popcount(unsigned long long word) { return __builtin_popcountll(word); }
static inline int lowest_bit(unsigned int word) { return word ? __builtin_ctz(word) : 32; }
#endif

#endif
