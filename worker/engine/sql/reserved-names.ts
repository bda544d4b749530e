// Names that belong to the storage: `_cf`, and names that begin with `_cf_`, in upper or lower case.
//
// `_cf` itself would be harmless as the name of a plain table, but a virtual table of that name keeps its rows in
// `_cf_data` and `_cf_config`. The names have their own file, because late.js needs them without the authorizer.

/** True for a name that the storage's own tables may have. */
export function isHiddenName(name: string): boolean {
  return /^_cf_/i.test(name);
}

/** True if programs may not use this name for a table, index, view or trigger. */
export function isReservedName(name: string): boolean {
  return /^_cf(_|$)/i.test(name);
}

/** The reason for a refused name, and a way out, for error messages. */
export const RESERVED_ADVICE =
  '_cf and names that begin with _cf_ belong to the storage; choose another name';
