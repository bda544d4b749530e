// Live reads of joins that share columns, which SQLite by itself reports to nobody: each shape follows each of its tables.

import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestHost, type TestHost } from '../../../packages/testing/worker/test-host.ts';
import type { LiveReading } from '../../../src/shared/live/live-result.ts';
import { liveQuery } from '../../../src/shared/live/live-result.ts';
import { LiveValue } from '../../../src/shared/live/live-value.ts';
import { polledSource } from '../../../src/shared/live/polled-source.ts';
import { LiveCalls } from './live-calls.ts';

const SCHEMA = `
  CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
  CREATE TABLE starred(id TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE tag(id TEXT, name TEXT); CREATE INDEX tag_id ON tag(id, name);
  CREATE VIRTUAL TABLE words USING fts5(id);
  CREATE VIEW shown AS SELECT id FROM note NATURAL JOIN starred;
  INSERT INTO note VALUES ('a', 'x'), ('b', 'y'); INSERT INTO starred VALUES ('a');
  INSERT INTO tag VALUES ('a', 's'), ('c', 't'); INSERT INTO words VALUES ('a');
`;

const JOINS = ['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'];
const RESULTS = ['count(*) AS n', 'id', 'body', '*', 'count(body) AS n', '1'];
const TWO = JOINS.flatMap((join) =>
  RESULTS.flatMap((result) => [
    `SELECT ${result} FROM note ${join} starred USING (id)`,
    `SELECT ${result} FROM starred NATURAL ${join} note`,
  ]),
);
const MORE = [
  'SELECT count(*) AS n FROM note NATURAL JOIN tag NATURAL JOIN starred',
  'SELECT name FROM tag JOIN words USING (id)',
  'SELECT count(*) AS n FROM words NATURAL LEFT JOIN starred',
  'SELECT count(*) AS n FROM shown NATURAL JOIN tag',
  'SELECT body, EXISTS (SELECT 1 FROM tag JOIN starred USING (id)) AS found FROM note',
  'SELECT id FROM tag WHERE id IN (SELECT id FROM note NATURAL JOIN starred)',
  'WITH both AS (SELECT id FROM starred NATURAL JOIN note) SELECT count(*) AS n FROM both JOIN tag USING (id)',
  'SELECT id FROM note NATURAL JOIN starred UNION SELECT id FROM tag NATURAL JOIN words',
  'SELECT count(*) AS n FROM NOTE',
  'SELECT 1 FROM Note, "STARRED"',
  'SELECT count(*) AS n FROM Words',
];

/** Each changes one table, and the rows that it joins with. */
const WRITES = [
  "INSERT INTO starred VALUES ('b')",
  "INSERT INTO tag VALUES ('b', 'u')",
  "INSERT INTO words VALUES ('b')",
  "INSERT INTO note VALUES ('c', 'z')",
  "DELETE FROM starred WHERE id = 'a'",
  "UPDATE note SET id = 'd' WHERE id = 'b'",
  "UPDATE tag SET id = 'd' WHERE id = 'b'",
  'DELETE FROM words',
  'DELETE FROM note',
];

let host: TestHost;
const stops: (() => void)[] = [];

beforeEach(async () => {
  host = await createTestHost();
});
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  return host.close();
});

const exec = (sql: string) => host.run((state) => state.storage.sql.exec(sql).toArray());

test('[LIVE1] of every shape, the value after each commit is that of a fresh read', async () => {
  await exec(SCHEMA);
  const connection = new LiveCalls(host.host).connect();
  const peers = {
    peer: async () => connection,
    end: undefined,
    whenEnded: () => () => {},
    after: () => () => {},
  };
  const open = ({ read, value }: LiveReading) =>
    new LiveValue(polledSource(peers, { target: 'object', read }), value);
  const queries = [...TWO, ...MORE];
  const lives = queries.map((sql) => open(liveQuery([sql])));
  for (const live of lives) stops.push(live.subscribe(() => {}));
  await host.turns(20);
  const changed = new Set<string>();
  for (const write of WRITES) {
    const before = lives.map((live) => JSON.stringify(live.getSnapshot()));
    await exec(write);
    await host.turns(20);
    for (const [index, sql] of queries.entries()) {
      const shown = lives[index]!.getSnapshot();
      expect([write, sql, shown]).toEqual([write, sql, await exec(sql)]);
      if (JSON.stringify(shown) !== before[index]) changed.add(sql);
    }
  }
  // Otherwise a live read that never runs again would show the same.
  expect(queries.filter((sql) => !changed.has(sql))).toEqual([]);
});
