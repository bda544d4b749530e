import { expect, test } from 'vitest';
import { nameOf, statementTokens } from './tokens.ts';

test('comments and white space are left out, quotes hold their own doubled', () => {
  const sql = `SELECT 'it''s; -- no' /* ; */ , "a""b" -- ;\n, [c;], \`d\`\`\`, ?12, :name, 1.5e3`;
  expect(statementTokens(sql).map((token) => [token.kind, token.text])).toEqual([
    ['word', 'SELECT'],
    ['quoted', "'it''s; -- no'"],
    ['symbol', ','],
    ['quoted', '"a""b"'],
    ['symbol', ','],
    ['quoted', '[c;]'],
    ['symbol', ','],
    ['quoted', '`d```'],
    ['symbol', ','],
    ['variable', '?12'],
    ['symbol', ','],
    ['variable', ':name'],
    ['symbol', ','],
    ['number', '1.5e3'],
  ]);
});

test('the first statement ends with its semicolon; the next starts behind it', () => {
  const sql = 'SELECT 1; SELECT 2';
  const first = statementTokens(sql);
  expect(first.at(-1)).toMatchObject({ text: ';', start: 8, end: 9 });
  expect(statementTokens(sql, 9)[1]?.text).toBe('2');
});

test('the depth of a token counts the parentheses around it', () => {
  const depths = statementTokens('a (b (c) d) e').map((token) => `${token.text}${token.depth}`);
  expect(depths.join(' ')).toBe('a0 (0 b1 (1 c2 )1 d1 )0 e0');
});

test('a name is the text in its quotes', () => {
  const names = statementTokens('a "b""c" [d] `e` \'f\'').map(nameOf);
  expect(names).toEqual(['a', 'b"c', 'd', 'e', 'f']);
});

test('text that no grammar knows still ends', () => {
  expect(statementTokens("§ 'open").map((token) => token.text)).toEqual(['§', "'open"]);
});
