//go:build !amd64 || purego

package neural

const hasAssembly = false

func addProductsAssembly(c, a, b []float32, step, n int) { addProductsPlain(c, a, b, step, n) }

func moveAssembly(w, g, m, v []float32, by *stride) { movePlain(w, g, m, v, by) }
