# A browser with WebKitGTK that WebKitWebDriver can drive, and that keeps its data: the one that comes with
# WebKitGTK forgets everything when it is driven.
#
# Usage: python3 webkit-browser.py <folder of the profile>

import sys

import gi

gi.require_version('Gtk', '3.0')
gi.require_version('WebKit2', '4.1')
from gi.repository import Gtk, WebKit2  # noqa: E402

profile = sys.argv[1]
context = WebKit2.WebContext.new_with_website_data_manager(
    WebKit2.WebsiteDataManager(
        base_data_directory=f'{profile}/data', base_cache_directory=f'{profile}/cache'
    )
)


def open_tab(_session):
    view = WebKit2.WebView(web_context=context, is_controlled_by_automation=True)
    window = Gtk.Window(default_width=800, default_height=600)
    window.add(view)
    window.show_all()
    view.connect('close', lambda _view: window.destroy())
    return view


def begin(_context, session):
    session.connect('create-web-view', open_tab)


context.set_automation_allowed(True)
context.connect('automation-started', begin)
Gtk.main()
