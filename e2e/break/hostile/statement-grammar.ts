// Random programs of an object that wants to read and change the storage's own data.
//
// A program mixes statements of every sort with the storage's own calls, because an action that is
// refused in a statement may happen when the storage runs one. Some programs are chains: tables,
// triggers and rows put together so that an operation on one reaches into another.

import type { Draws } from '../../../packages/testing/page/draws.ts';

export type Step =
  | { readonly kind: 'sql'; readonly text: string; readonly bindings: readonly unknown[] }
  | { readonly kind: 'put'; readonly key: string; readonly value: unknown }
  | { readonly kind: 'delete'; readonly key: string }
  | { readonly kind: 'list' | 'deleteAll' | 'setAlarm' | 'deleteAlarm' }
  /** Commits earlier writes; the next statement begins a transaction. */
  | { readonly kind: 'settle' };

/** Keys that the object itself writes, besides the one with the secret. */
export const KEYS = ['a', 'b', 'c'] as const;

const HIDDEN = ['_cf_KV', '_cf_METADATA'];
const QUOTES: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => `"${name}"`,
  (name) => `[${name}]`,
  (name) => `\`${name}\``,
  (name) => `main.${name}`,
  (name) => name.toUpperCase(),
  (name) => name.toLowerCase(),
  (name) => `'${name}'`,
];
const ACTIONS = ['CASCADE', 'SET NULL', 'SET DEFAULT', 'RESTRICT', 'NO ACTION'];
const EVENTS = ['INSERT', 'UPDATE', 'DELETE'];
const JOINS = ['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'];

export class StatementGrammar {
  readonly #draws: Draws;
  #count = 0;
  /** Names of tables and views that the program makes, or tries to. */
  readonly #tables = ['loot'];

  constructor(draws: Draws) {
    this.#draws = draws;
  }

  program(): Step[] {
    const draws = this.#draws;
    const steps: Step[] = [];
    // Something to work on.
    for (const text of [this.#createTable(), this.#createTable(), 'CREATE TABLE loot(k, v)']) {
      steps.push(this.#sql(text));
    }
    const length = 5 + draws.below(12);
    for (let i = 0; i < length; i++) {
      if (draws.chance(0.25)) steps.push(...this.#chain());
      else if (draws.chance(0.3)) steps.push(this.#storageCall());
      else steps.push(this.#sql(this.#statement()));
      if (draws.chance(0.3)) steps.push({ kind: 'settle' });
    }
    // Every call of the storage runs after the prepared state.
    for (const key of KEYS) steps.push({ kind: 'put', key, value: 9 }, { kind: 'settle' });
    steps.push({ kind: 'deleteAlarm' }, { kind: 'setAlarm' }, { kind: 'settle' });
    for (const key of KEYS) steps.push({ kind: 'delete', key }, { kind: 'settle' });
    return steps;
  }

  #storageCall(): Step {
    const draws = this.#draws;
    const key = draws.pick(KEYS);
    return draws.pick<Step>([
      { kind: 'put', key, value: draws.below(100) },
      { kind: 'delete', key },
      { kind: 'list' },
      { kind: 'setAlarm' },
      { kind: 'deleteAlarm' },
      ...(draws.chance(0.1) ? [{ kind: 'deleteAll' } as const] : []),
    ]);
  }

  /** Steps that belong together, with others between them at times. */
  #chain(): Step[] {
    const draws = this.#draws;
    const between = (): Step[] => [
      ...(draws.chance(0.1) ? [this.#sql(this.#statement())] : []),
      ...(draws.chance(0.6) ? [{ kind: 'settle' } as const] : []),
    ];
    const texts = draws.pick([
      () => this.#cascade(),
      () => this.#generated(),
      () => this.#shadows(),
      () => this.#renaming(),
      () => this.#viewTrigger(),
    ])();
    return texts.flatMap((text) => [this.#sql(text), ...between()]);
  }

  /** A child of a hidden table whose trigger runs inside of the storage's own statement. */
  #cascade(): string[] {
    const draws = this.#draws;
    const child = this.#name('child');
    const [hidden, column, value] = draws.pick([
      ['_cf_KV', 'key', `'${draws.pick(KEYS)}'`],
      ['_cf_METADATA', 'key', '1'],
    ] as const);
    const target = draws.pick(QUOTES)(hidden);
    const columns = draws.chance(0.8) ? `(${column})` : '';
    const event = draws.pick(['DELETE', 'UPDATE']);
    const trigger = `CREATE TRIGGER ${this.#name('tr')} ${draws.pick(['BEFORE', 'AFTER'])} ${event} ON ${child} BEGIN ${this.#body()} END`;
    const definition =
      `CREATE TABLE ${child}(k TEXT DEFAULT 'c' REFERENCES ${target}${columns} ` +
      `ON ${draws.pick(['DELETE', 'UPDATE'])} ${draws.pick(ACTIONS)} ON DELETE ${draws.pick(ACTIONS)}${this.#deferral()})`;
    return [
      definition,
      ...(draws.chance(0.9) ? [trigger] : []),
      'PRAGMA foreign_keys = OFF',
      `INSERT INTO ${child} VALUES (${value})`,
      'PRAGMA foreign_keys = ON',
    ];
  }

  /** Columns, indexes, checks and defaults that are computed. */
  #generated(): string[] {
    const table = this.#name('g');
    const secret = () => this.#expression(2);
    return [
      `CREATE TABLE ${table}(a, b DEFAULT (${secret()}), c AS (${secret()}) ${this.#draws.pick(['', 'STORED'])}, CHECK (${secret()} OR 1))`,
      `CREATE INDEX ${this.#name('i')} ON ${table}(${secret()}) WHERE ${secret()}`,
      `INSERT INTO ${table}(a) VALUES (1)`,
      `SELECT * FROM ${table}`,
    ];
  }

  /** Virtual tables that read or keep other tables. */
  #shadows(): string[] {
    const draws = this.#draws;
    const table = this.#name('f');
    const hidden = draws.pick(HIDDEN);
    return [
      draws.pick([
        `CREATE VIRTUAL TABLE ${table} USING fts5(key, value, content='${hidden}', content_rowid='key')`,
        `CREATE VIRTUAL TABLE ${table} USING fts5(key, value, content="${hidden}")`,
        `CREATE VIRTUAL TABLE ${table} USING fts5vocab('${hidden}', 'row')`,
        `CREATE VIRTUAL TABLE ${table} USING fts5(value, content='${this.#name('v')}')`,
        `CREATE VIRTUAL TABLE ${table} USING rtree(key, "value", x)`,
        `CREATE VIRTUAL TABLE ${table} USING fts5(a, tokenize = 'trigram', prefix='1 2')`,
      ]),
      `INSERT INTO ${table}(${table}) VALUES ('${draws.pick(['rebuild', 'integrity-check', 'optimize', 'delete-all'])}')`,
      `INSERT INTO ${table} VALUES ('one', 'two')`,
      `ALTER TABLE ${table} RENAME TO ${draws.pick(['_cf', '_CF', '"_cf"', '_cf_KV', 'other'])}`,
      `SELECT * FROM ${draws.pick([table, '_cf', '_cf_content', '_cf_data', '_cf_config'])}`,
      `SELECT * FROM ${table} WHERE ${table} MATCH '${draws.pick(['one', 'token OR x', 'key:t*'])}'`,
    ];
  }

  /** Names that become hidden ones, or hide one. */
  #renaming(): string[] {
    const draws = this.#draws;
    const name = draws.pick([...HIDDEN, '_cf', '_cf_', '_CF_x', 'x']);
    return [
      `CREATE TABLE r${this.#count}(key, value)`,
      `ALTER TABLE r${this.#count} RENAME TO ${draws.pick(QUOTES)(name)}`,
      `CREATE TABLE ${draws.pick(['IF NOT EXISTS ', ''])}${draws.pick(QUOTES)(name)}(key, value)`,
      `CREATE VIEW ${draws.pick(QUOTES)(name)} AS SELECT 1`,
      `DROP ${draws.pick(['TABLE', 'VIEW'])} ${draws.pick(['IF EXISTS ', ''])}${draws.pick(QUOTES)(name)}`,
      `ALTER TABLE ${draws.pick(QUOTES)(name)} RENAME TO mine${this.#count++}`,
      `SELECT * FROM mine${this.#count - 1}`,
    ];
  }

  #viewTrigger(): string[] {
    const view = this.#name('v');
    return [
      `CREATE VIEW ${view} AS ${this.#select(2)}`,
      `CREATE TRIGGER ${this.#name('tr')} INSTEAD OF ${this.#draws.pick(EVENTS)} ON ${view} BEGIN ${this.#body()} END`,
      `SELECT * FROM ${view}`,
      `DELETE FROM ${view}`,
      `INSERT INTO ${view} VALUES (1)`,
      `UPDATE ${view} SET rowid = 1`,
    ];
  }

  #statement(): string {
    const draws = this.#draws;
    const table = () => this.#table();
    return draws.pick<() => string>([
      () => this.#select(3),
      () => this.#select(3),
      () =>
        `WITH RECURSIVE w(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM w LIMIT 9), x AS MATERIALIZED (${this.#select(2)}) ${this.#select(2)}`,
      () => `EXPLAIN ${draws.pick(['', 'QUERY PLAN '])}${this.#select(2)}`,
      () =>
        `INSERT ${draws.pick(['', 'OR REPLACE', 'OR IGNORE'])} INTO ${table()} ${this.#select(2)}`,
      () => `INSERT INTO loot(k, v) ${this.#select(2)} RETURNING *`,
      () =>
        `INSERT INTO loot VALUES (1, ${this.#expression(2)}) ON CONFLICT DO UPDATE SET v = ${this.#expression(1)}`,
      () =>
        `UPDATE ${table()} SET ${this.#column()} = ${this.#expression(2)} WHERE ${this.#expression(1)} RETURNING *`,
      () =>
        `UPDATE loot SET v = h.value FROM ${table()} AS h WHERE ${this.#expression(1)} RETURNING *`,
      () => `DELETE FROM ${table()} WHERE ${this.#expression(2)} RETURNING *`,
      () => `REPLACE INTO ${this.#hidden()} VALUES ('b', x'ff0f4904')`,
      () => this.#createTable(),
      () => `CREATE TABLE ${this.#name('t')} AS ${this.#select(2)}`,
      () =>
        `CREATE ${draws.pick(['', 'UNIQUE '])}INDEX ${this.#name('i')} ON ${table()}(${this.#expression(1)})`,
      () =>
        `CREATE TRIGGER ${this.#name('tr')} ${draws.pick(['BEFORE', 'AFTER'])} ${draws.pick(EVENTS)} ON ${table()} WHEN ${this.#expression(1)} BEGIN ${this.#body()} END`,
      () =>
        `ALTER TABLE ${table()} ADD COLUMN ${this.#name('c')} REFERENCES ${this.#hidden()} ON DELETE ${draws.pick(ACTIONS)}`,
      () => `ALTER TABLE ${table()} RENAME COLUMN ${this.#column()} TO ${this.#column()}`,
      () => `ALTER TABLE ${table()} DROP COLUMN ${this.#column()}`,
      () =>
        `DROP ${draws.pick(['TABLE', 'VIEW', 'INDEX', 'TRIGGER'])} ${draws.pick([table(), 'tr1', 'i1', 'sqlite_autoindex__cf_KV_1'])}`,
      () => `PRAGMA ${draws.pick(PRAGMAS)}`,
      () =>
        draws.pick([
          'ANALYZE',
          `ANALYZE ${this.#hidden()}`,
          'REINDEX',
          `REINDEX ${this.#hidden()}`,
        ]),
      () => draws.pick(FORBIDDEN),
      () => `${this.#select(1)}; ${this.#select(1)}`,
    ])();
  }

  #createTable(): string {
    const draws = this.#draws;
    const key = draws.chance(0.3)
      ? ` REFERENCES ${this.#hidden()}(key) ON DELETE ${draws.pick(ACTIONS)}`
      : '';
    const check = draws.chance(0.2) ? `, CHECK (${this.#expression(1)})` : '';
    return `CREATE TABLE ${this.#name('t')}(key TEXT${key}, value DEFAULT (${this.#literal()}), a${check})`;
  }

  /** The body of a trigger. */
  #body(): string {
    const draws = this.#draws;
    const count = 1 + draws.below(3);
    return draws
      .times(count, () =>
        draws.pick([
          () => `INSERT INTO loot SELECT key, value FROM ${draws.pick(HIDDEN)};`,
          () =>
            `UPDATE ${draws.pick(HIDDEN)} SET value = x'ff0f4904' WHERE key = '${draws.pick(KEYS)}';`,
          () => `DELETE FROM ${draws.pick(HIDDEN)};`,
          () => `INSERT OR REPLACE INTO ${draws.pick(HIDDEN)} VALUES ('b', x'ff0f4904');`,
          () => `INSERT INTO loot SELECT 1, ${this.#expression(2)};`,
          () =>
            `INSERT INTO loot VALUES (1, (SELECT group_concat(quote(value)) FROM ${draws.pick(HIDDEN)}));`,
          () =>
            `SELECT RAISE(${draws.pick(['IGNORE', "ABORT, 'no'", "FAIL, 'no'", "ROLLBACK, 'no'"])});`,
        ])(),
      )
      .join(' ');
  }

  #select(depth: number): string {
    const draws = this.#draws;
    const from = draws.pick([
      () => this.#table(),
      () => `${this.#table()} AS x JOIN ${this.#table()} AS y`,
      // Columns that both have, which a statement reads without naming their table.
      () => `${this.#table()} NATURAL ${draws.pick(JOINS)} ${this.#table()}`,
      () =>
        `${this.#table()} ${draws.pick(JOINS)} ${this.#table()} USING (${draws.pick(['key', 'value', 'key, value'])})`,
      () => (depth > 0 ? `(${this.#select(depth - 1)})` : 'loot'),
      () => draws.pick(TABLE_FUNCTIONS),
    ])();
    const what = draws.pick([
      '*',
      '*',
      'key, value',
      this.#expression(depth),
      'quote(value)',
      'group_concat(value)',
      'hex(value)',
      'rowid, *',
    ]);
    const end = draws.pick([
      '',
      '',
      'LIMIT 5',
      `WHERE ${this.#expression(depth)}`,
      `ORDER BY ${this.#expression(0)}`,
    ]);
    const union = depth > 0 && draws.chance(0.15) ? ` UNION ALL ${this.#select(depth - 1)}` : '';
    return `SELECT ${what} FROM ${from} ${union === '' ? end : union}`;
  }

  #expression(depth: number): string {
    const draws = this.#draws;
    if (depth === 0 || draws.chance(0.3))
      return draws.pick([() => this.#literal(), () => this.#column()])();
    const inner = () => this.#expression(depth - 1);
    return draws.pick([
      () => `${inner()} ${draws.pick(['=', '<', '||', '->>', 'IS NOT', 'LIKE', 'AND'])} ${inner()}`,
      () =>
        `${draws.pick(['length', 'hex', 'quote', 'json', 'typeof', 'max', 'total', 'unhex', 'upper'])}(${inner()})`,
      () =>
        `(SELECT ${draws.pick(['value', 'key', 'count(*)', 'hex(value)', 'max(value)'])} FROM ${this.#hidden()})`,
      () => `EXISTS (${this.#select(0)})`,
      () => `CASE WHEN ${inner()} THEN ${inner()} END`,
      () => `${inner()} IN (SELECT key FROM ${this.#table()})`,
      () => `${inner()} IN ${this.#hidden()}`,
    ])();
  }

  #literal(): string {
    return this.#draws.pick(['1', 'NULL', "'a'", "'b'", "x'00'", '0.5', '?']);
  }

  #column(): string {
    return this.#draws.pick(['key', 'value', 'a', 'k', 'v', 'rowid']);
  }

  #hidden(): string {
    return this.#draws.pick(QUOTES)(this.#draws.pick(HIDDEN));
  }

  #table(): string {
    const draws = this.#draws;
    if (draws.chance(0.35)) return this.#hidden();
    if (draws.chance(0.1)) return draws.pick(['sqlite_schema', 'sqlite_master']);
    return draws.pick(this.#tables);
  }

  #name(prefix: string): string {
    this.#count += 1;
    const name = `${prefix}${this.#count}`;
    if (/^(t|child|v|f|g)$/.test(prefix)) this.#tables.push(name);
    return name;
  }

  #deferral(): string {
    return this.#draws.pick(['', '', ' DEFERRABLE INITIALLY DEFERRED']);
  }

  #sql(text: string): Step {
    const parameters = text.split('?').length - 1;
    const bindings = this.#draws.times(parameters, () => this.#draws.pick(['a', 'b', 1, null]));
    return { kind: 'sql', text, bindings };
  }
}

const TABLE_FUNCTIONS = [
  "pragma_table_xinfo('_cf_KV')",
  "pragma_index_xinfo('sqlite_autoindex__cf_KV_1')",
  'pragma_table_list',
  "pragma_foreign_key_list('t1')",
  'sqlite_dbpage',
  'dbstat',
  'sqlite_stat1',
  'sqlite_stat4',
  'sqlite_sequence',
  "bytecode('SELECT * FROM _cf_KV')",
  "tables_used('SELECT * FROM _cf_KV')",
  "json_each('[1]')",
  'generate_series(1, 2)',
  'sqlite_temp_schema',
  'pragma_function_list',
];

const PRAGMAS = [
  'foreign_keys = OFF',
  'foreign_keys = ON',
  'defer_foreign_keys = ON',
  'writable_schema = ON',
  'writable_schema = RESET',
  'recursive_triggers = ON',
  'trusted_schema = OFF',
  'trusted_schema = ON',
  'legacy_alter_table = ON',
  'ignore_check_constraints = ON',
  'reverse_unordered_selects = ON',
  'case_sensitive_like = ON',
  'table_info(_cf_KV)',
  'table_xinfo("_cf_KV")',
  'index_list(_cf_KV)',
  'foreign_key_list(t1)',
  'foreign_key_check',
  'foreign_key_check(_cf_KV)',
  'integrity_check',
  'quick_check(_cf_KV)',
  'optimize',
  'schema_version = 1',
  'user_version',
  'journal_mode = MEMORY',
  'page_size = 512',
  'temp_store_directory',
  'query_only = 1',
  'data_version',
  'wal_checkpoint',
];

const FORBIDDEN = [
  'BEGIN',
  'COMMIT',
  'ROLLBACK',
  'SAVEPOINT s',
  'RELEASE s',
  "ATTACH ':memory:' AS other",
  'DETACH main',
  'VACUUM',
  "VACUUM INTO 'x'",
  'CREATE TEMP TABLE _cf_KV(key, value)',
  'CREATE TEMP TRIGGER x AFTER DELETE ON main._cf_KV BEGIN INSERT INTO loot SELECT key, value FROM _cf_KV; END',
  'CREATE TEMP VIEW sqlite_schema AS SELECT 1',
  "INSERT INTO sqlite_schema VALUES ('view', 'x', 'x', 0, 'CREATE VIEW x AS SELECT * FROM _cf_KV')",
  "UPDATE sqlite_schema SET sql = replace(sql, 'loot', '_cf_KV')",
  "DELETE FROM sqlite_schema WHERE name = '_cf_KV'",
  "SELECT load_extension('x')",
  "SELECT writefile('x', 'y')",
  "SELECT fts5(x'00')",
  "SELECT sqlite_rename_table('main', '', '', '_cf_KV', 'mine', 0)",
];
