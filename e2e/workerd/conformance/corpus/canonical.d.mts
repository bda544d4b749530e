export function canonicalize(value: unknown): unknown;
