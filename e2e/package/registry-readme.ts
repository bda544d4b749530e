// The README as a registry shows it: there, a link to a file leads nowhere, so it becomes the address at which the
// published package has that file.

import { replaceLinks, targetOf } from './site/links.ts';

/** A server of every published package's files. */
const FILES = 'https://unpkg.com';

/** `isPacked`: whether the package contains a file. A link to another one becomes plain text. */
export function registryReadme(
  readme: string,
  { name, version }: { readonly name: string; readonly version: string },
  isPacked: (file: string) => boolean,
): string {
  return replaceLinks(readme, ({ whole, text, target }) => {
    const to = targetOf('README.md', target);
    if (to === null || to.file === 'README.md') return whole;
    if (!isPacked(to.file)) return text;
    const anchor = to.anchor === '' ? '' : `#${to.anchor}`;
    return `[${text}](${FILES}/${name}@${version}/${to.file}${anchor})`;
  });
}
