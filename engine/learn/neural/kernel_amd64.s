//go:build !purego

#include "textflag.h"

// Both functions add to each lane of c the products a[k]*b[k][lane] in the
// order of k, multiply first, then add: no fused operation, so that the plain
// Go twin gives the same bits.

// func addProducts64(c, a, b *float32, k, stride int)
TEXT ·addProducts64(SB), NOSPLIT, $0-40
	MOVQ c+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), BX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), DX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1
	VMOVUPS 64(DI), Y2
	VMOVUPS 96(DI), Y3
	VMOVUPS 128(DI), Y4
	VMOVUPS 160(DI), Y5
	VMOVUPS 192(DI), Y6
	VMOVUPS 224(DI), Y7

loop64:
	VBROADCASTSS (SI), Y8
	VMULPS (BX), Y8, Y9
	VMULPS 32(BX), Y8, Y10
	VMULPS 64(BX), Y8, Y11
	VMULPS 96(BX), Y8, Y12
	VADDPS Y9, Y0, Y0
	VADDPS Y10, Y1, Y1
	VADDPS Y11, Y2, Y2
	VADDPS Y12, Y3, Y3
	VMULPS 128(BX), Y8, Y9
	VMULPS 160(BX), Y8, Y10
	VMULPS 192(BX), Y8, Y11
	VMULPS 224(BX), Y8, Y12
	VADDPS Y9, Y4, Y4
	VADDPS Y10, Y5, Y5
	VADDPS Y11, Y6, Y6
	VADDPS Y12, Y7, Y7
	ADDQ $4, SI
	ADDQ DX, BX
	DECQ CX
	JNZ loop64
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 128(DI)
	VMOVUPS Y5, 160(DI)
	VMOVUPS Y6, 192(DI)
	VMOVUPS Y7, 224(DI)
	VZEROUPPER
	RET

// func addProducts16(c, a, b *float32, k, stride int)
TEXT ·addProducts16(SB), NOSPLIT, $0-40
	MOVQ c+0(FP), DI
	MOVQ a+8(FP), SI
	MOVQ b+16(FP), BX
	MOVQ k+24(FP), CX
	MOVQ stride+32(FP), DX
	VMOVUPS (DI), Y0
	VMOVUPS 32(DI), Y1

loop16:
	VBROADCASTSS (SI), Y8
	VMULPS (BX), Y8, Y9
	VMULPS 32(BX), Y8, Y10
	VADDPS Y9, Y0, Y0
	VADDPS Y10, Y1, Y1
	ADDQ $4, SI
	ADDQ DX, BX
	DECQ CX
	JNZ loop16
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VZEROUPPER
	RET
