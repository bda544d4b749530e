// The names that belong to the storage: those that begin with `_cf_`, in any case, and `_cf` itself.
//
// `_cf` alone would do no harm as the name of a table. But virtual tables keep their rows in tables
// that are called after them: `_cf_data`, `_cf_config`.

/** True for a name that the storage's own tables may have. */
export function isHiddenName(name: string): boolean {
  return /^_cf_/i.test(name);
}

/** True when no program may give this name to anything. */
export function isReservedName(name: string): boolean {
  return /^_cf(_|$)/i.test(name);
}

/** Why it may not, and the way out. */
export const RESERVED_ADVICE =
  '_cf and names that begin with _cf_ belong to the storage; choose another name';
