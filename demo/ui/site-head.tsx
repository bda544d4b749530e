// The head of the playground and the API page: where one is, and where else one can go.

const PAGES = [
  { href: './', label: 'Playground' },
  { href: './notes.html', label: 'Notes app' },
  { href: './api.html', label: 'Emulated API' },
];

export function SiteHead({ current }: { current: './' | './api.html' }) {
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
