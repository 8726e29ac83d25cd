// Package solar computes sun position ([SPA], [At]), rise and set ([Day]), the
// clear sky ([ClearSky]), the irradiance on a tilted plane ([Plane]) and the AC
// power of a plant ([Plant]).
//
// Angles are degrees: zenith from the vertical, azimuth from north through
// east. Irradiance is W/m². Every formula names its publication. Functions are
// pure, safe for concurrent use, and return NaN for NaN. The package imports
// nothing of Sunloop and reads no clock.
package solar
