Yours = yours = yours_html = yours_spec = None
