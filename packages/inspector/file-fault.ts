// The error of a file that cannot be imported.

/** Says that the content of a file does not match its kind. The message names the file, the place and the way out. */
export class FileFault extends Error {
  override readonly name = 'FileFault';
  /** The line of the mistake, or null if it concerns the whole file. */
  readonly line: number | null;

  constructor(file: string, line: number | null, fact: string) {
    super(line === null ? `${file}: ${fact}` : `${file}, line ${line}: ${fact}`);
    this.line = line;
  }
}
