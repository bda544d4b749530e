// Tests how migration files are split and sorted. Wrangler 4.164 gives the expected values for the same files.

import { describe, expect, test } from 'vitest';
import { compareMigrations, statementsIn } from './d1-migrations.ts';

const trigger =
  'CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b; SELECT CASE 1 WHEN 1 THEN 2 END;\nEND';

describe('statements', () => {
  test.each<[string, string[]]>([
    ['SELECT 1', ['SELECT 1']],
    ['SELECT 1;', ['SELECT 1;']],
    ['SELECT 1; SELECT 2', ['SELECT 1', 'SELECT 2']],
    ['SELECT 1;;\n;SELECT 2;\n', ['SELECT 1', 'SELECT 2']],
    ['-- one;\nSELECT 1; /* ; */ -- ;\n', ['-- one;\nSELECT 1']],
    ['SELECT 1; /* open ; ', ['SELECT 1']],
    ['SELECT \';\', ";", `;`, [;]; SELECT 2;', ['SELECT \';\', ";", `;`, [;]', 'SELECT 2']],
    ["SELECT 'it''s; one'; SELECT 2;", ["SELECT 'it''s; one'", 'SELECT 2']],
    ["SELECT 'open; SELECT 2;", ["SELECT 'open; SELECT 2;"]],
    ['SELECT 1; SELECT "open;', ['SELECT 1', 'SELECT "open;']],
    [`${trigger}; SELECT 2;`, [trigger, 'SELECT 2']],
    [
      `${trigger.replace('CREATE', 'create temporary')}; SELECT 2;`,
      [trigger.replace('CREATE', 'create temporary'), 'SELECT 2'],
    ],
    [`EXPLAIN QUERY PLAN ${trigger}; SELECT 2;`, [`EXPLAIN QUERY PLAN ${trigger}`, 'SELECT 2']],
    [`${trigger} ; ; SELECT 2;`, [trigger, 'SELECT 2']],
    ['CREATE TABLE trigger_a(end); SELECT 2', ['CREATE TABLE trigger_a(end)', 'SELECT 2']],
    ['CREATE VIEW trigger; SELECT 2', ['CREATE VIEW trigger', 'SELECT 2']],
    ['DROP TRIGGER t; SELECT 2', ['DROP TRIGGER t', 'SELECT 2']],
    ['SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 2', ['SELECT CASE 1 WHEN 1 THEN 2 END', 'SELECT 2']],
    ['SELECT 1 - 2 / 3; SELECT 2', ['SELECT 1 - 2 / 3', 'SELECT 2']],
    ['BEGIN TRANSACTION;\nSELECT 1;\nSELECT 2;\nCOMMIT;\n', ['SELECT 1', 'SELECT 2']],
    ['BEGIN TRANSACTION;\nSELECT 1;\nCOMMIT;\n', ['\nSELECT 1;\n\n']],
    ['begin; SELECT 1; commit;', ['begin', 'SELECT 1', 'commit']],
    ['', ['']],
    [' ;; ', [' ;; ']],
  ])('[BDB5] the file %j is split into its statements', (file, statements) => {
    expect(statementsIn(file)).toEqual(statements);
  });

  test('[BDB5] a file with two transactions is refused', () => {
    const one = 'BEGIN TRANSACTION;\nSELECT 1;\nCOMMIT;\n';
    expect(() => statementsIn(one + one)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('several transactions (BEGIN TRANSACTION)'),
      }),
    );
  });

  test.each(['; ', "'", '/*', '/* *', '[', '-', 'a', 'CREATE TRIGGER x BEGIN ; '])(
    '[BDB5] a megabyte of %j is split',
    (part) => {
      expect(statementsIn(`${part.repeat(1e6 / part.length)};x`).length).toBeLessThan(3);
    },
  );
});

test('[BDB3] migrations are ordered by the numbers of their folders and files, then by name, those without a number last', () => {
  const names = [
    'b.sql',
    '10_a.sql',
    '2_b/z.sql',
    '2_b/10.sql',
    '2_b/9.sql',
    '2_a.sql',
    'a.sql',
    '0x1.sql',
    '002_b.sql',
  ];
  expect(names.sort(compareMigrations)).toEqual([
    ...[
      '0x1.sql',
      '002_b.sql',
      '2_a.sql',
      '2_b/9.sql',
      '2_b/10.sql',
      '2_b/z.sql',
      '10_a.sql',
      'a.sql',
      'b.sql',
    ],
  ]);
});
