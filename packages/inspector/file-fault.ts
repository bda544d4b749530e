// Why a file cannot be taken in, with the place in it.

/** A file whose content does not match its kind: the message names the file, the place and the way out. */
export class FileFault extends Error {
  override readonly name = 'FileFault';
  /** The line of a text, or the number of an item; null: the file as a whole. */
  readonly line: number | null;

  constructor(file: string, line: number | null, fact: string) {
    super(line === null ? `${file}: ${fact}` : `${file}, line ${line}: ${fact}`);
    this.line = line;
  }
}
