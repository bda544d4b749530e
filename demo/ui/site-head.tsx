// The head of all pages but the notes app: where one is, and where else one can go.

const PAGES = [
  { href: './', label: 'Playground' },
  { href: './notes.html', label: 'Notes app' },
  { href: './api.html', label: 'Emulated API' },
  { href: './bench.html', label: 'Benchmark' },
];

export function SiteHead({ current }: { current: './' | './api.html' | './bench.html' }) {
  return (
    <header class="head">
      <h1>ctx-storage</h1>
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
