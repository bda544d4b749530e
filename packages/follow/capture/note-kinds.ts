// The kinds of notes that name neither a row nor a key.

/** These numbers stand in place of a table's name. */
export const NOTE_KIND = { wipe: 1, schema: 2, table: 3, sequences: 4 } as const;
export type NoteKind = (typeof NOTE_KIND)[keyof typeof NOTE_KIND];
