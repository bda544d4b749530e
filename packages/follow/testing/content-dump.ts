// For tests: reads the schema and the rows of an object as plain data, with the types of values and the rowids, so that two
// databases can be compared. The tables of this package are omitted.
//
// It uses SQL statements only, so that it runs in workerd, too.

/** Runs a statement, and returns its rows. */
type Rows = (query: string) => unknown[][] | Promise<unknown[][]>;

export async function contentDump(rows: Rows): Promise<unknown> {
  const objects = await rows(
    'SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name',
  );
  const schema = objects.filter(([, name]) => !/^(_cf_|_follow_|sqlite_stat)/.test(String(name)));
  const tables = schema.filter(([type, name]) => type === 'table' && name !== 'sqlite_sequence');
  const content: unknown[] = [];
  for (const [, name] of tables) content.push([name, await rowsOf(rows, String(name))]);
  const hasSequences = schema.some(([, name]) => name === 'sqlite_sequence');
  const sequences = hasSequences
    ? await rows("SELECT name, seq || '' FROM sqlite_sequence ORDER BY name, seq")
    : [];
  return { schema, content, sequences };
}

async function rowsOf(rows: Rows, name: string): Promise<string[]> {
  const table = `"${name.replaceAll('"', '""')}"`;
  const literal = name.replaceAll("'", "''");
  const columns = (await rows(`SELECT name FROM pragma_table_xinfo('${literal}')`)).map(
    ([column]) => `"${String(column).replaceAll('"', '""')}"`,
  );
  // A REAL is compared as a number, because versions of SQLite convert it to different texts.
  const typed = columns.map(
    (column) =>
      `typeof(${column}), CASE typeof(${column}) WHEN 'real' THEN ${column} ELSE hex(CAST(${column} AS BLOB)) END`,
  );
  const lower = columns.map((column) => column.toLowerCase());
  const rowid =
    ['rowid', '_rowid_', 'oid'].find((one) => !lower.includes(`"${one}"`)) ?? columns[0]!;
  const [text] = await rows(`SELECT sql FROM sqlite_master WHERE name = '${literal}'`);
  const isWithoutRowid = /without\s+rowid/i.test(String(text));
  const selected = isWithoutRowid ? typed : [rowid, ...typed];
  const found = await rows(`SELECT ${selected.join(', ')} FROM ${table}`);
  return found.map((row) => JSON.stringify(row)).sort();
}
