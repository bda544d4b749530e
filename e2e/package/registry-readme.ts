// A README as a registry shows it: there, a link to a file leads nowhere, so it becomes the address at which the
// published package has that file.

import { readSource } from '../suite/source-files.ts';
import { replaceLinks, targetOf } from './site/links.ts';

/** A server of every published package's files. */
const FILES = 'https://unpkg.com';

/**
 * The text of a document as a README. Its links lead to files of a published package; `isPacked` says which it contains,
 * and a link to another file becomes plain text.
 */
export function registryReadme(
  document: string,
  { name, version }: { readonly name: string; readonly version: string },
  isPacked: (file: string) => boolean,
  text: string = readSource(document),
): string {
  return replaceLinks(text, ({ whole, text, target }) => {
    const to = targetOf(document, target);
    if (to === null || to.file === document) return whole;
    if (!isPacked(to.file)) return text;
    const anchor = to.anchor === '' ? '' : `#${to.anchor}`;
    return `[${text}](${FILES}/${name}@${version}/${to.file}${anchor})`;
  });
}
