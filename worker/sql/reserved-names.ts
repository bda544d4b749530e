// The names that belong to the storage: those that begin with `_cf_`, in upper or lower case, and `_cf`.
//
// `_cf` itself would be harmless as the name of a plain table. But a virtual table of that name would keep
// its rows in `_cf_data` and `_cf_config`.

/** True for a name that the storage's own tables may have. */
export function isHiddenName(name: string): boolean {
  return /^_cf_/i.test(name);
}

/** True when no program may give this name to anything. */
export function isReservedName(name: string): boolean {
  return /^_cf(_|$)/i.test(name);
}

/** Why not, and the way out. */
export const RESERVED_ADVICE =
  '_cf and names that begin with _cf_ belong to the storage; choose another name';
