// Which pragmas user SQL may use, and with which values. The list and its rules are workerd's.

import { isHiddenName } from './reserved-names.ts';

/** What a pragma's value may be. */
type ValueRule = 'none' | 'boolean' | 'object' | 'optionalObject' | 'objectOrNumber' | 'number';

const PRAGMAS: Readonly<Record<string, ValueRule>> = {
  data_version: 'none',
  page_size: 'none',

  case_sensitive_like: 'boolean',
  defer_foreign_keys: 'boolean',
  foreign_keys: 'boolean',
  ignore_check_constraints: 'boolean',
  legacy_alter_table: 'boolean',
  recursive_triggers: 'boolean',
  reverse_unordered_selects: 'boolean',

  foreign_key_list: 'object',
  index_info: 'object',
  index_list: 'object',
  index_xinfo: 'object',
  table_info: 'object',
  table_xinfo: 'object',

  foreign_key_check: 'optionalObject',
  table_list: 'optionalObject',
  quick_check: 'objectOrNumber',
  optimize: 'number',
};

/** Undefined if the pragma may run with this value; otherwise why not, in words. */
export function checkPragma(name: string, value: string | undefined): string | undefined {
  const rule = PRAGMAS[name.toLowerCase()];
  if (rule === undefined) return `PRAGMA ${name} is not available`;
  if (isAllowed(rule, value)) return undefined;
  return value === undefined
    ? `PRAGMA ${name} needs the name of an object`
    : `PRAGMA ${name} may not have the value ${value}`;
}

function isAllowed(rule: ValueRule, value: string | undefined): boolean {
  switch (rule) {
    case 'none':
      return value === undefined;
    case 'boolean':
      // As on workerd, only the beginning is checked: SQLite reads "onx" as off.
      return value === undefined || /^['"]?(true|false|yes|no|on|off|1|0)/i.test(value);
    case 'object':
      return value !== undefined && !isHiddenName(value);
    case 'optionalObject':
    case 'objectOrNumber':
      return value === undefined || !isHiddenName(value);
    case 'number':
      return value === undefined || /^[-+]?(\d+|0x[\da-f]+)$/i.test(value);
  }
}
