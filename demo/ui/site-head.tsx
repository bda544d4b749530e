// Shows the head of every page: the name of the page, links to the other pages, and links to the package.
//
// The addresses of the package's sites are not written here; `site-names.ts` writes them into each page.

import { nameIn, type SiteName } from './site-names.ts';

const PAGES = [
  { href: './', label: 'Playground' },
  { href: './notes.html', label: 'Notes app' },
  { href: './devices.html', label: 'Two devices' },
  { href: './api.html', label: 'Emulated API' },
  { href: './bench.html', label: 'Benchmark' },
] as const;

const WAYS_OUT: readonly { readonly name: SiteName; readonly label: string }[] = [
  { name: 'guide', label: 'Guide' },
  { name: 'repository', label: 'Source' },
];

export function SiteHead({ current }: { current: (typeof PAGES)[number]['href'] }) {
  const ways = WAYS_OUT.map(({ name, label }) => ({ href: nameIn(document, name), label }));
  const known = ways.filter(({ href }) => href !== null);
  return (
    <header class="head">
      <h1>ctx-storage</h1>
      {known.length > 0 && (
        <nav class="ways-out" aria-label="The package">
          {known.map(({ href, label }) => (
            <a key={label} href={href!}>
              {label}
            </a>
          ))}
        </nav>
      )}
      <nav class="tabs" aria-label="Pages">
        {PAGES.map(({ href, label }) => (
          <a
            key={href}
            class="tab"
            href={href}
            aria-current={href === current ? 'page' : undefined}
          >
            {label}
          </a>
        ))}
      </nav>
    </header>
  );
}
