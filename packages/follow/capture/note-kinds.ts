// The kinds of notes that name neither a row nor a key.

/** In such a note, one of these numbers stands in place of a table's name. */
export const NOTE_KIND = { wipe: 1, schema: 2, table: 3, sequences: 4 } as const;
export type NoteKind = (typeof NOTE_KIND)[keyof typeof NOTE_KIND];
