def slug(title):
    return title.lower().replace(" ", "-")


print(slug("A Small Step"))
