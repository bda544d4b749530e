// Imports a file of rows into a table, and returns the outcome as text. This module is loaded with the first file.

import type { StorageHandle } from '@ctx-storage/core/storage';
import { checkRowFile } from './row-file.ts';
import { ImportFailure, importRows } from './row-import.ts';
import { countText, errorText } from './text.ts';

export interface Taken {
  readonly text: string;
  readonly isFault: boolean;
  /** The bookmark of the moment before the import, or null if nothing was written. */
  readonly before: string | null;
}

/** Reports progress: the current step, and the done share of it, from 0 to 1. */
export type Progress = (text: string, share: number) => void;

/** Imports the file. @throws FileFault or the reason of the signal, if nothing was written */
export async function takeRowFile(
  storage: StorageHandle,
  file: File,
  table: string,
  signal: AbortSignal,
  progress: Progress,
): Promise<Taken> {
  const rows = await checkRowFile(file, signal, (readBytes) =>
    progress(`Checking ${file.name}…`, readBytes / Math.max(1, file.size)),
  );
  const { rowCount } = rows;
  const before = await storage.getCurrentBookmark();
  try {
    const written = await importRows(storage, table, rows, signal, (count) =>
      progress(
        `Writing row ${count.toLocaleString('en')} of ${rowCount.toLocaleString('en')}…`,
        count / Math.max(1, rowCount),
      ),
    );
    const text = `${countText(written, 'row')} of ${file.name} are in the table ${table}.`;
    return { text, isFault: false, before };
  } catch (error) {
    if (!(error instanceof ImportFailure)) throw error;
    const { rowsWritten, line, cause } = error;
    const place = signal.aborted
      ? ''
      : ` Line ${line.toLocaleString('en')} and those after it are missing.`;
    return {
      text: `${errorText(cause)} ${countText(rowsWritten, 'row')} of ${rowCount.toLocaleString('en')} were written to ${table}.${place}`,
      isFault: true,
      before: (await storage.getCurrentBookmark()) === before ? null : before,
    };
  }
}
