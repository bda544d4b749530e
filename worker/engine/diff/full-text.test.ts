// Virtual tables by their definitions, as SQLite stores them.

import { expect, test } from 'vitest';
import { contentKind, contentOfIndex, shadowNames } from './full-text.ts';

const define = (definition: string, name = 't') => ({
  name,
  sql: `CREATE VIRTUAL TABLE ${definition}`,
});

test.for([
  ['t USING fts5(a, b)', 'content'],
  ['t USING FTS5 (a)', 'content'],
  ['t using\n\t fts5 (a)', 'content'],
  ['t USING "fts5"(a)', 'content'],
  ["t USING 'fts5'(a)", 'content'],
  ['t USING `fts5`(a)', 'content'],
  ['t USING [fts5](a)', 'content'],
  ['"causing rtree" USING fts5(a)', 'content'],
  ['t USING fts5(content, contents, tokenize = porter)', 'content'],
  ['t USING fts5(a, tokenize = "unicode61 tokenchars \'=content\'")', 'content'],
  ["t USING fts5(a, content='')", 'hidden'],
  ['t USING fts5(a,content="")', 'hidden'],
  ['t USING fts5(content = , a)', 'hidden'],
  ["t USING fts5(a, CONTENT\n=\n''\n, contentless_delete=1)", 'hidden'],
  ["t USING fts5(a, content='page', content_rowid='id')", 'others'],
  ['t USING fts5(content=page, a)', 'others'],
  ['t USING fts5(a, content = [the page])', 'others'],
  ['t USING fts5vocab(f, row)', 'none'],
  ['t USING FTS5VOCAB(f, row)', 'none'],
  ['t USING rtree(id, x0, x1)', 'plain'],
  ['t USING rtree_i32(id, x0, x1)', 'plain'],
  ['"USING" USING rtree(content, x0, x1)', 'plain'],
] as const)('[DIFF5] the content of a table "%s" is: %s', ([definition, kind]) => {
  expect(contentKind(define(definition))).toBe(kind);
});

test.for([
  ["t USING fts5(a, content='page')", 'page'],
  ['t USING fts5(a, content=page)', 'page'],
  ['t USING fts5(a, content = page , content_rowid = id)', 'page'],
  ['t USING fts5(a, content="the page")', 'the page'],
  ['t USING fts5(content=`page`, a)', 'page'],
  ['t USING fts5(a, content=[page])', 'page'],
  ["t USING fts5(a, content='')", ''],
  ['t USING fts5(a)', ''],
] as const)('[REVERT5] the content of an index "%s" is of table "%s"', ([definition, table]) => {
  expect(contentOfIndex(define(definition))).toBe(table);
});

test('[DIFF5] the shadows of a table are those of its module, with its name', () => {
  const shadows = (definition: string, name: string) =>
    shadowNames(define(definition, name)).sort();
  expect(shadows('doc USING fts5(a)', 'doc')).toEqual([
    'doc_config',
    'doc_content',
    'doc_data',
    'doc_docsize',
    'doc_idx',
  ]);
  const spatial = ['place_node', 'place_parent', 'place_rowid'];
  expect(shadows('place USING rtree(id, x0, x1)', 'place')).toEqual(spatial);
  expect(shadows('place USING RTREE_I32(id, x0, x1)', 'place')).toEqual(spatial);
  expect(shadows('words USING fts5vocab(doc, row)', 'words')).toEqual([]);
  expect(shadowNames({ name: 't', sql: 'CREATE TABLE t (a)' })).toEqual([]);
});
