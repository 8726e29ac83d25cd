//go:build !amd64 || purego

package neural

const hasAssembly = false

func addProductsAssembly(c, a, b []float32, n int) { addProductsPlain(c, a, b, n) }
