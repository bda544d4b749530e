// The middle of several measurements, which one slow round does not move.

/** Of an even number of values, the higher of the two in the middle; NaN of none. */
export function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
