// Three notes to try the search on.

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
    title: 'Einkaufszettel für Müller & Söhne',
    body: `Äpfel, Brötchen, Käse
½ l crème fraîche
“Weißbier” (6×)`,
  },
];
