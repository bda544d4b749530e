// The quick starts of docs/quick-start.md, taken from its text, in the folders that its readers have.
//
// Invariant: a start is one block of the document, and its first line names the file that it is. Nothing else is
// changed in a template of create-vite.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../browsers/server.ts';
import { npmInstall, packedFile } from './installed.ts';

export const QUICK_START = readFileSync(join(REPOSITORY, 'docs/quick-start.md'), 'utf8');

/** A complete file of the document. */
export interface QuickStart {
  /** The heading above it. */
  readonly title: string;
  readonly file: string;
  readonly code: string;
}

const BLOCK = /^## (?<title>.+)$|^```(?!sh$)(?<kind>\w+)\n(?<code>[\s\S]*?)^```$/gm;
const FIRST_LINE = /^(?:\/\/|<!--) ([\w./-]+)(?: -->)?\n/;

/** All blocks of code of the document. @throws Error if a block does not begin with the name of its file */
export function quickStarts(): readonly QuickStart[] {
  const starts: QuickStart[] = [];
  let title = '';
  for (const { groups } of QUICK_START.matchAll(BLOCK)) {
    if (groups!.title !== undefined) title = groups!.title;
    else {
      const code = groups!.code!;
      const file = FIRST_LINE.exec(code)?.[1];
      if (file === undefined) throw new Error(`${title}: the code does not begin with its file.`);
      starts.push({ title, file, code });
    }
  }
  return starts;
}

/** The start in a stock template of create-vite, with the package and all else that npm installs; its folder. */
export async function startInTemplate(
  parent: string,
  template: string,
  start: QuickStart,
): Promise<string> {
  const program = join(REPOSITORY, 'node_modules/create-vite/index.js');
  const parameters = [program, template, '--no-interactive', '--template', template];
  execFileSync(process.execPath, parameters, { cwd: parent, stdio: 'pipe' });
  return paste(join(parent, template), start);
}

/** Writes the file into a folder made by `npm init`, and installs the packed package there. */
export async function startInNode(parent: string, start: QuickStart): Promise<string> {
  const folder = join(parent, 'node');
  mkdirSync(folder);
  execFileSync('npm', ['init', '-y'], { cwd: folder, stdio: 'pipe' });
  return paste(folder, start);
}

async function paste(folder: string, { file, code }: QuickStart): Promise<string> {
  npmInstall(folder, await packedFile());
  writeFileSync(join(folder, file), code);
  return folder;
}
