// Package solar knows where the sun stands and what a plant makes of its
// light: sun position ([SPA], [At]), rise and set ([Day]), the clear sky
// ([ClearSky]), the irradiance on a tilted plane ([Plane]) and the AC power of
// a plant ([Plant]).
//
// Angles are degrees: zenith from straight up, azimuth from north through
// east. Irradiance is W/m². Every formula names its publication. Functions are
// pure, safe for concurrent use, and answer NaN for NaN. The package imports
// nothing of Sunloop and reads no clock.
package solar
