// Contains notes to try the search on, and SQL statements to run on them.

export const EXAMPLE_NOTES = [
  {
    title: 'What happens when you type',
    body: `Every change is written to a SQLite database in a worker, in this browser's private file system.

“Saved” appears once the write is durable, not before. Reload, close the tab, go offline: the note is there.`,
  },
  {
    title: 'Things to search for',
    body: `Words match from their beginning, in any order, ignoring accents: "uber" finds Über, "caf" finds café.

Quotes keep words together: "private file". An emoji 🎉 or a piece of 日本語 is found too.`,
  },
  {
    title: 'Statements to run',
    body: `Under “Storage”, the tab SQL runs them in the worker, on the database of these notes.

The longest notes:
SELECT id, title, length(body) AS characters FROM notes ORDER BY characters DESC

Full-text search:
SELECT title, snippet(notes_search, 1, '[', ']', '…', 8) AS found, rank FROM notes_search WHERE notes_search MATCH 'not* OR caf*' ORDER BY rank

Types:
SELECT NULL AS missing, 42 AS "integer", 0.1 + 0.2 AS "real", 'Grüße' AS "text", x'53514c697465' AS "blob"

Many rows:
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100000) SELECT n, n * n AS square FROM numbers`,
  },
  {
    title: 'Einkaufszettel für Müller & Söhne',
    body: `Äpfel, Brötchen, Käse
½ l crème fraîche
“Weißbier” (6×)`,
  },
];
