// The tables of docs/query-builders.md, which its text leaves to the reader.

import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const book = sqliteTable('book', {
  id: integer('id').primaryKey(),
  title: text('title').notNull(),
  author: text('author'),
});

export const shelf = sqliteTable('shelf', { count: integer('count').notNull() });
