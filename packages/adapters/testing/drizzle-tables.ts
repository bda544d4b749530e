// The Drizzle schema of the tables that the migrations in packages/adapters/testing/drizzle make.

import { relations } from 'drizzle-orm';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const author = sqliteTable('author', {
  id: integer('id').primaryKey(),
  name: text('name').notNull().unique(),
  tags: text('tags', { mode: 'json' }).$type<string[]>(),
});

export const book = sqliteTable('book', {
  id: integer('id').primaryKey(),
  author: integer('author').references(() => author.id, { onDelete: 'cascade' }),
  name: text('name').notNull(),
});

const authorRelations = relations(author, ({ many }) => ({ books: many(book) }));
const bookRelations = relations(book, ({ one }) => ({
  by: one(author, { fields: [book.author], references: [author.id] }),
}));

export const schema = { author, book, authorRelations, bookRelations };
